"""Bots without gRPC: any program that reads JSON lines and writes its moves."""
