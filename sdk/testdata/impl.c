/* The implementation on its own, for programs of several files. */
#define WHYSLOW_IMPLEMENTATION
#include "whyslow.h"
