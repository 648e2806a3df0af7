// Package pattern finds out why threads of a program without tasks wait. It searches the regions that they
// entered and left (model.Regions) for patterns of inefficient behaviour.
//
// A pattern says which operations it looks at, which stretch of a thread's time in such an operation is lost,
// and which thread it waited for. Each is a variable of type pattern in a file of its own and is named in the
// list in search.go; no other code knows about it. To add one:
//
//  1. Write a file with a variable: an id, a name, the metric it is part of, a sentence that says what it is,
//     and either when and lost (for collectives) or acquired (for locks). lost gets an instance, which has
//     the times of all members, and a member.
//  2. Name it in patterns. The search clips what it finds to the thread's time in the operation, sums it up
//     by call path and thread, finds out what the late thread was doing, and makes pieces for the division of
//     time.
//  3. Patterns that are parts of the same metric must not claim the same time. The property test in
//     random_test.go tries to find programs where they do. An alternative definition, whose time overlaps
//     that of others, names them as its reading.
//  4. Add a run with figures worked out by hand to testdata.
//
// All times are nanoseconds on the common clock.
package pattern
