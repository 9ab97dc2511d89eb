"""Class-association rules from sparse transactions: search, filters, matching, measures."""
