"""Tests of what must hold always, whatever is killed, refused or declared."""
