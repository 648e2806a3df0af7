// Particles: where they start, and the points of the mesh around them.
#ifndef DUST_HPP
#define DUST_HPP

#include "mesh.hpp"

namespace { // each file has its own, and may leave some of it unused

const double RADIUS = 0.3, STEP = 0.002; // of the cloud; of time
const double CENTRE[3] = {0.5, 0.48, 0.46}, DRIFT[3] = {0.1, 0.2, 0.3}, SPIN = 1.5;

struct Particle { double at[3], speed[3]; };
typedef std::vector<Particle> Particles;

inline const Particle *particles_of(const InputDF &df, size_t &count)
{
    count = df.getSize() / sizeof(Particle);
    return df.getData<Particle>();
}

inline void store(const Particles &list, OutputDF &out)
{
    if (Particle *to = out.create<Particle>(list.size())) std::copy(list.begin(), list.end(), to);
}

// All particles of three lists.
inline Particles joined(const InputDF &stay, const InputDF &low, const InputDF &high)
{
    Particles all;
    for (const InputDF *part : {&stay, &low, &high}) {
        size_t count;
        const Particle *p = particles_of(*part, count);
        all.insert(all.end(), p, p + count);
    }
    return all;
}

// A number between 0 and 1, always the same for the same two numbers.
inline double chance(unsigned long long number, unsigned long long stream)
{
    unsigned long long x = number * 3 + stream + 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return ((x ^ (x >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}

// The share of a ball of radius 1 that is below a height, and the height below which a share of it is.
inline double share_below(double height)
{
    const double h = std::min(1.0, std::max(-1.0, height));
    return (2 + 3 * h - h * h * h) / 4;
}

inline double height_of(double share) { return 2 * std::sin(std::asin(2 * share - 1) / 3); }

inline int plane_of(double z, int n) { return std::min(n - 1, std::max(0, (int)std::floor(z * n))); }

// Particles are numbered from the lowest to the highest, so those of a slab have neighbouring numbers.
inline Particle particle(int number, int count)
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

// Calls f for all particles that start in planes first to end - 1 of a mesh of n planes.
template <class F> void each_particle(int n, int particles, int first, int end, F f)
{
    auto number_at = [&](int plane) {
        return particles * share_below(((double)plane / n - CENTRE[2]) / RADIUS);
    };
    const int from = std::max(0, (int)number_at(first) - 2),
        to = std::min(particles, (int)number_at(end) + 3);
    for (int i = from; i < to; i++) {
        const Particle p = particle(i, particles);
        const int plane = plane_of(p.at[2], n);
        if (plane >= first && plane < end) f(p);
    }
}

// Calls f for the eight points around a particle, with the part of the particle that each has.
template <class F> void each_point(const Particle &p, int n, F f)
{
    const Between x(p.at[0], n), y(p.at[1], n), z(p.at[2], n);
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 2; j++) {
            const double w = (k ? z.part : 1 - z.part) * (j ? y.part : 1 - y.part);
            f(x.low, j ? y.high : y.low, k ? z.high : z.low, w * (1 - x.part));
            f(x.high, j ? y.high : y.low, k ? z.high : z.low, w * x.part);
        }
}

// Moves a particle: first the speed by the acceleration, then the place by the speed; walls reflect it. at
// has the acceleration (three numbers) and the potential. sum gets its mass, momentum (three numbers),
// kinetic and potential energy before the move.
inline void move(Particle &p, const double *at, int particles, double *sum)
{
    const double mass = 1.0 / particles;
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
}

} // namespace

#endif
