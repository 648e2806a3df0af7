// The particles: where they start, the mass they give to the mesh, how they move.
#include "mesh.hpp"

namespace {

const double RADIUS = 0.3, STEP = 0.002;
const double CENTRE[3] = {0.5, 0.48, 0.46}, DRIFT[3] = {0.1, 0.2, 0.3}, SPIN = 1.5;

struct Particle { double at[3], speed[3]; };
typedef std::vector<Particle> Particles;

const Particle *particles_of(const InputDF &df, size_t &count)
{
    count = df.getSize() / sizeof(Particle);
    return df.getData<Particle>();
}

void store(const Particles &list, OutputDF &out)
{
    if (Particle *to = out.create<Particle>(list.size())) std::copy(list.begin(), list.end(), to);
}

// A number between 0 and 1, always the same for the same two numbers.
double chance(unsigned long long number, unsigned long long stream)
{
    unsigned long long x = number * 3 + stream + 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return ((x ^ (x >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}

// The share of a ball of radius 1 that is below a height, and the height below which a share of it is.
double share_below(double height)
{
    const double h = std::min(1.0, std::max(-1.0, height));
    return (2 + 3 * h - h * h * h) / 4;
}

double height_of(double share) { return 2 * std::sin(std::asin(2 * share - 1) / 3); }

int plane_of(double z, int n) { return std::min(n - 1, std::max(0, (int)std::floor(z * n))); }

// Particles are numbered from the lowest to the highest, so those of a slab have neighbouring numbers.
Particle particle(int number, int count)
{
    const double h = height_of((number + chance(number, 0)) / count);
    const double r = std::sqrt((1 - h * h) * chance(number, 1)), angle = 2 * PI * chance(number, 2);
    const double x = RADIUS * r * std::cos(angle), y = RADIUS * r * std::sin(angle);
    const Particle p = {{CENTRE[0] + x, CENTRE[1] + y, CENTRE[2] + RADIUS * h},
        {DRIFT[0] - SPIN * y, DRIFT[1] + SPIN * x, DRIFT[2]}};
    return p;
}

// The two mesh points along one axis that enclose a particle, and how near it is to the second. Beyond the
// last point both are the same.
struct Between {
    int low, high;
    double part;
    Between(double at, int n)
    {
        const double g = at * n - 0.5, floor = std::floor(g);
        part = g - floor;
        low = std::max(0, (int)floor);
        high = std::min(n - 1, (int)floor + 1);
    }
};

} // namespace

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
    auto number_at = [&](int plane) {
        return particles * share_below(((double)plane / n - CENTRE[2]) / RADIUS);
    };
    const int from = std::max(0, (int)number_at(first) - 2),
        to = std::min(particles, (int)number_at(end) + 3);
    Particles mine;
    for (int i = from; i < to; i++) {
        const Particle p = particle(i, particles);
        const int plane = plane_of(p.at[2], n);
        if (plane >= first && plane < end) mine.push_back(p);
    }
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

// Moves the particles: first the speed by the pull at each, then the place by the speed; walls reflect them.
// sums are mass, momentum (three numbers), kinetic and potential energy before the move.
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
    const double mass = 1.0 / particles;
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
        sum[0] += mass;
        sum[5] += 0.5 * mass * at[3];
        for (int c = 0; c < 3; c++) {
            const double before = p.speed[c];
            p.speed[c] += STEP * at[c];
            const double mean = 0.5 * (before + p.speed[c]);
            sum[1 + c] += mass * mean;
            sum[4] += 0.5 * mass * mean * mean;
            p.at[c] += STEP * p.speed[c];
            if (p.at[c] < 0) p.at[c] = -p.at[c], p.speed[c] = -p.speed[c];
            if (p.at[c] >= 1) p.at[c] = 2 - p.at[c], p.speed[c] = -p.speed[c];
        }
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
    const InputDF *const parts[] = {&stay, &below, &above};
    Particles all;
    for (const InputDF *part : parts) {
        size_t count;
        const Particle *p = particles_of(*part, count);
        all.insert(all.end(), p, p + count);
    }
    store(all, dust);
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
