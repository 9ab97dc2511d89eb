"""What every built folder shares: its inputs' records, how it is written and read back, and its report."""
