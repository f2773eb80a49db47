"""The canvas: it draws the document, and turns gestures into changes of it."""
