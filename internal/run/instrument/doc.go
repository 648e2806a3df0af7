// Package instrument inserts EMIT_EVENT(Namespace, onName, args...); into C++ sources where rules ask for it.
//
// It works in five steps, and the last one proves that nothing went wrong silently:
//
//  1. It removes the insertions of earlier runs (strip.go); each one carries a mark. So instrumenting again
//     changes nothing, other rules give the same as on the original, and no rules give the original back,
//     byte for byte.
//  2. It cuts the text into tokens (lex.go). It reads them once for each combination of #if branches that is
//     needed to see every branch (variants.go).
//  3. It parses each reading (parse.go, declarator.go, statements.go), only as far as needed: where functions
//     and their bodies begin, where statements begin and end, and which single statement an if or a loop
//     governs. It searches expressions for calls and lambdas and skips types. It has no symbol table and
//     expands no macro. Where a macro may hide an if, it treats the next statement as governed, which is
//     always right.
//  4. It matches the rules with what it found. They give pieces of text to insert (source.go): events, and
//     braces around governed statements. It inserts whole pieces, changes nothing else, and adds no line.
//  5. It strips the result again and compares it with the original.
//
// A file that it does not understand (unmatched brackets, a statement without an end) stays as it is, with a
// warning. Some things would not compile or would count wrongly, so it leaves them out with a warning each:
// constexpr functions, bodies of macros, calls in heads of loops, calls outside statements, statements cut by
// #if.
package instrument
