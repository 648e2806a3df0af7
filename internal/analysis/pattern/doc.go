// Package pattern finds out why threads of a program without tasks wait. It searches the regions that they
// entered and left (model.Regions) for patterns of inefficient behaviour.
//
// A pattern says which operations it looks at, which stretch of a thread's time in such an operation is lost,
// and which thread it waited for. Each is an entry of the table in patterns.go. To add one:
//
//  1. Add an entry: an id, the metric it is part of, and either when and lost (for collectives) or acquired
//     (for locks). The search clips the stretch to the operation, sums up by call path and thread, and finds
//     out what the late thread was doing. Its name, and a sentence that says what it is, go to words.Metrics.
//  2. Patterns that are parts of the same metric must not claim the same time: the property test in
//     random_test.go looks for programs where they do. An alternative definition, whose time overlaps that of
//     others, names these as its reading.
//  3. Add a run with figures worked out by hand to testdata.
//
// All times are nanoseconds on the common clock.
package pattern
