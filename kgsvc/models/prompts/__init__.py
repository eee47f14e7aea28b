"""What is said to language models. Each module names its version; a test pins what is really sent."""
