#include <cstdio>
#include <unistd.h>

#include "ucenv.h"

static const int rows = 64;

static void borders(const double *strip, OutputDF &low, OutputDF &high)
{
    low.setValue<double>(strip[0]);
    high.setValue<double>(strip[rows - 1]);
}

extern "C" {

void make_strip(int s, OutputDF &u, OutputDF &low, OutputDF &high)
{
    double *strip = u.create<double>(rows);
    for (int i = 0; i < rows; i++) strip[i] = s + i / double(rows);
    borders(strip, low, high);
}

// Each row becomes the mean of itself and its neighbours; above and below are those of the strips beyond.
void step(int sleep, const InputDF &below, const InputDF &old, const InputDF &above, OutputDF &u,
    OutputDF &low, OutputDF &high)
{
    usleep(sleep);
    const double *was = old.getData<double>();
    double *strip = u.create<double>(rows);
    for (int i = 0; i < rows; i++) {
        double left = i > 0 ? was[i - 1] : below.getValue<double>();
        double right = i < rows - 1 ? was[i + 1] : above.getValue<double>();
        strip[i] = (left + was[i] + right) / 3;
    }
    borders(strip, low, high);
}

void make_real(double v, OutputDF &out) { out.setValue<double>(v); }

void add_up(const InputDF &u, double sum, OutputDF &out)
{
    const double *strip = u.getData<double>();
    for (int i = 0; i < rows; i++) sum += strip[i];
    out.setValue<double>(sum);
}

void report(int strips, int steps, double sum)
{
    printf("uneven: %d strips, %d steps, mean %.9f\n", strips, steps, sum / strips / rows);
}

}
