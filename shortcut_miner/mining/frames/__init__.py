"""Rules in and out of tables: lists, one-hot frames, mlxtend's frames."""
