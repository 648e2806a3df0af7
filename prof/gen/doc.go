package main

func eventsDoc() ([]byte, error) { return []byte("# Events\n"), nil }
