#include "ucenv.h"

extern "C" {

void make(int value, OutputDF &out) { out.setValue<int>(value * value); }
void add(int sum, int value, OutputDF &out) { out.setValue<int>(sum + value); }
void show(int sum) { printf("sum %d\n", sum); }

}
