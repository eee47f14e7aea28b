"""Telling known names and facts from new ones: questions, answers, decisions. Pure."""
