"""RAD: template-augmented yes/no questions, and the RAD score. README.md is the room's card."""
