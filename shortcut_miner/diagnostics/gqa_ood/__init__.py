"""GQA-OOD: rare and frequent answers within groups of questions. README.md is the room's card."""
