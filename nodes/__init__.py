"""What is drawn: node library, documents and their files, inference, building and export."""
