"""Files as text: plain text, Markdown, HTML, PDF, DOCX and mail become Markdown, with pages and title."""
