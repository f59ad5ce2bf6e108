"""Tests of what must hold always, whatever is killed, refused, declared or asked for."""
