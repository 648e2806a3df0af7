// Package instrument inserts EMIT_EVENT(Namespace, onName, args...); into C++ sources where rules ask for it.
//
// What is done to a text, and why it cannot go wrong silently:
//
//  1. Insertions of earlier runs are taken out (strip.go): every one is marked. So instrumenting again changes
//     nothing, other rules give what they would give on the original, and no rules give the original, byte for byte.
//  2. The text is cut into tokens (lex.go), and read once per combination of #if branches that is needed to see
//     each branch (variants.go).
//  3. Each reading is parsed (parse.go, declarator.go, statements.go), only as far as needed: which functions there are, where
//     their bodies begin, where statements begin and end, and which are the single statement that an if or a loop governs.
//     Expressions are looked through for calls and lambdas, types are skipped. No symbol table, no macro is expanded.
//     Where a macro may hide an if, the statement after it is taken for a governed one, which is always right.
//  4. Rules are matched with what was found, giving pieces of text to insert (source.go): events, and braces around
//     governed statements. Only whole pieces are inserted, never is anything else changed, and never a line added.
//  5. The result is stripped again and compared with the original.
//
// What is not understood (brackets that do not match, a statement that does not end) leaves the whole file as it is, with a
// warning. Not done, because it would not compile or would count wrongly, with a warning each: constexpr functions, bodies of
// macros, calls in heads of loops, calls outside statements, statements cut by #if.
package instrument
