/* dlopen: a program without OpenMP that loads a library with it, and calls that library's main. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    int (*run)(int, char **);
    if (!library || !(*(void **)&run = dlsym(library, "main"))) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return run(argc - 1, argv + 1);
}
