// A routine named like a function of the C library that the program's own headers do not declare.
extern "C" void four(void *out);
extern "C" void rand(void *out) { four(out); }
