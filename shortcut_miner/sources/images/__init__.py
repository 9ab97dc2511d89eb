"""What is known about images: labels, regions and scene graphs."""
