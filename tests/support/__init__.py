"""What several test modules share: helpers and fixtures, none of them a test."""
