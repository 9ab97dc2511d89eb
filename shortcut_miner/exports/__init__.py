"""Built folders in the formats of other people's evaluators, a file a consumer."""
