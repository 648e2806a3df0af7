/* The implementation alone, for programs of several files. */
#define WHYSLOW_IMPLEMENTATION
#include "whyslow.h"
