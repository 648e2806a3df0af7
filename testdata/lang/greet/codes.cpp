#include <cstdio>
extern "C" void shout(const char *what, int times)
{
    for (int i = 0; i < times; i++) printf("%s!\n", what);
}
