package clock

func readTSC() uint64 { return rdtsc() }
