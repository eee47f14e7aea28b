"""stores/embedded"""
