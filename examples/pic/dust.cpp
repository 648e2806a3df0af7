// The particles of slabs: the mass they give to the mesh, how they move.
#include "dust.hpp"


extern "C" {

void make_dust(int n, int particles, int slabs, int s, OutputDF &dust)
{
    if (n < 4 || n % 2 != 0 || slabs < 1 || slabs > n / 2 || particles < 1) {
        fprintf(stderr, "pic: %d slabs of a mesh of %d points with %d particles: the mesh must be even and "
            "4 or more, slabs 1 to %d,"
                        " particles 1 or more\n", slabs, n, particles, std::max(1, n / 2));
        exit(1);
    }
    const int first = first_plane(n, slabs, s), end = first_plane(n, slabs, s + 1);
    Particles mine;
    each_particle(n, particles, first, end, [&](const Particle &p) { mine.push_back(p); });
    store(mine, dust);
}

// Each particle gives its mass to the eight points around it: own is for the points of this slab, low and
// high for the planes below and above it.
void deposit(int n, int particles, int slabs, int s, const InputDF &dust, OutputDF &own, OutputDF &low,
    OutputDF &high)
{
    const Slab b(n, slabs, s);
    size_t count;
    const Particle *p = particles_of(dust, count);
    std::vector<double> mass((b.planes + 2) * b.plane, 0.0);
    for (size_t i = 0; i < count; i++) {
        const Between x(p[i].at[0], n), y(p[i].at[1], n), z(p[i].at[2], n);
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 2; j++) {
                const double w = (k ? z.part : 1 - z.part) * (j ? y.part : 1 - y.part) / particles;
                double *row = &mass[((k ? z.high : z.low) - b.first + 1) * b.plane +
                    (size_t)(j ? y.high : y.low) * n];
                row[x.low] += w * (1 - x.part);
                row[x.high] += w * x.part;
            }
    }
    copy_block(&mass[b.plane], b.planes * b.plane, own);
    copy_block(&mass[0], b.plane, low);
    copy_block(&mass[(b.planes + 1) * b.plane], b.plane, high);
}

// Moves the particles by the pull at each.
void push(int n, int particles, int slabs, int s, const InputDF &dust, const InputDF &pull, OutputDF &stay,
    OutputDF &low, OutputDF &high,
          OutputDF &sums)
{
    const Slab b(n, slabs, s);
    const int lowest = b.bottom ? b.first : b.first - 1;
    size_t count;
    const Particle *from = particles_of(dust, count);
    const double *field = pull.getData<double>();
    Particles staying, down, up;
    staying.reserve(count);
    double *sum = sums.create<double>(6, 0.0);
    for (size_t i = 0; i < count; i++) {
        Particle p = from[i];
        const Between x(p.at[0], n), y(p.at[1], n), z(p.at[2], n);
        double at[4] = {0, 0, 0, 0};
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 2; j++) {
                const double w = (k ? z.part : 1 - z.part) * (j ? y.part : 1 - y.part);
                const double *row = field + 4 * (((k ? z.high : z.low) - lowest) * b.plane +
                    (size_t)(j ? y.high : y.low) * n);
                for (int c = 0; c < 4; c++) at[c] += w * ((1 - x.part) * row[4 * x.low + c] +
                    x.part * row[4 * x.high + c]);
            }
        move(p, at, particles, sum);
        const int plane = plane_of(p.at[2], n);
        if (plane < b.first) down.push_back(p);
        else if (plane >= b.first + b.planes) up.push_back(p);
        else staying.push_back(p);
        if (plane < (s > 0 ? first_plane(n, slabs, s - 1) : 0) ||
            plane >= (s < slabs - 1 ? first_plane(n, slabs, s + 2) : n)) {
            fprintf(stderr, "pic: a particle crossed a whole slab in one step: use fewer slabs than %d\n",
                slabs);
            exit(1);
        }
    }
    store(staying, stay);
    store(down, low);
    store(up, high);
}

// The particles of a slab in the next step. The slabs at the walls read their own edges there, which are
// empty.
void merge(const InputDF &stay, const InputDF &below, const InputDF &above, OutputDF &dust)
{
    store(joined(stay, below, above), dust);
}

void no_sums(OutputDF &out) { out.create<double>(6, 0.0); }

void add_sums(const InputDF &a, const InputDF &b, OutputDF &out)
{
    double *to = out.create<double>(6);
    for (int i = 0; i < 6; i++) to[i] = a.getData<double>()[i] + b.getData<double>()[i];
}

void report_step(int t, int iterations, const InputDF &sums)
{
    const double *v = sums.getData<double>();
    printf("step %d: %d iterations, energy %.9f = %.9f kinetic %+.9f potential\n", t, iterations, v[4] + v[5],
        v[4], v[5]);
}

void report_run(int n, int particles, int slabs, const InputDF &sums)
{
    const double *v = sums.getData<double>();
    printf("pic: %d particles, %d^3 points in %d slabs: mass %.9f, momentum %.9f %.9f %.9f\n", particles, n,
        slabs, v[0], v[1], v[2], v[3]);
}

}
