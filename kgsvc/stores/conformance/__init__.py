"""stores/conformance"""
