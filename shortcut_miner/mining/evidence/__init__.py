"""What the rows say about each rule: measures, tests, and a verdict."""
