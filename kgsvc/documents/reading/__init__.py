"""Files as text: plain text, Markdown, HTML, PDF and DOCX become Markdown, with their pages and title."""
