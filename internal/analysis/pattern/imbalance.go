package pattern

// imbalance compares the threads' own times in each call path with the mean of the threads that were there.
// Where only one ever was, it is compared with what each would have if all shared it.
func (s *search) imbalance() {
	metric := func(id string) int { return s.f.index[id] }
	time, visits := metric("time"), metric("visits")
	n := len(s.r.Threads)
	for call := range s.list {
		row := s.rows[time][call]
		if row == nil {
			continue
		}
		took := func(thread int) bool {
			v := s.rows[visits][call]
			return call == 0 || v != nil && v.Values[thread] > 0
		}
		sum, there := int64(0), int64(0)
		for thread, ns := range row.Values {
			if sum += ns; took(thread) {
				there++
			}
		}
		if there == 0 || n < 2 {
			continue
		}
		over, under, mean := metric("overload"), metric("underload"), sum/there
		if there == 1 {
			over, under, mean = metric("single-participant"), metric("non-participation"), sum/int64(n)
		}
		for thread, ns := range row.Values {
			switch {
			case there > 1 && !took(thread):
			case ns > mean:
				s.add(over, call, thread, ns-mean)
			default:
				s.add(under, call, thread, mean-ns)
			}
		}
	}
}
