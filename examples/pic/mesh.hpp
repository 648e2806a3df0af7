// What the code fragments share: the box, its mesh and the slabs it is cut into.
//
// The box is a cube of edge 1 with a cloud of total mass 1 in it; the gravitational constant is 1. The mesh
// has a point in the middle of each of its N x N x N cells. One more point beyond each wall has the potential
// of the same mass in the centre. Slab s has the planes first_plane(s) to first_plane(s + 1) - 1 and the
// particles in their cells.
//
// The points are coloured like a chess board, red where x + y + z is even, so all six neighbours of a point
// have the other colour. The potential is stored by colour: row (y, z) has N / 2 points of each, the j-th at
// x = 2 j + parity.
#ifndef MESH_HPP
#define MESH_HPP

#include "ucenv.h"
#include <algorithm>
#include <cmath>
#include <vector>

const double PI = 3.14159265358979323846;

inline int first_plane(int n, int slabs, int s) { return (int)((long long)n * s / slabs); }

// The potential outside the box.
inline double outside(int n, int x, int y, int z)
{
    const double dx = (x + 0.5) / n - 0.5, dy = (y + 0.5) / n - 0.5, dz = (z + 0.5) / n - 0.5;
    return -1 / std::sqrt(dx * dx + dy * dy + dz * dz);
}

// What the potential inside starts as, by that outside the box: not below the value half-way between its
// centre and its walls.
inline double first_guess(double outside) { return std::max(-4.0, outside); }

// The right side of Poisson's equation times the square of the mesh width at a point with that mass: 4 pi G
// times the density, less the neighbours outside the box, where the potential is known.
inline double right_of(int n, int x, int y, int z, double mass)
{
    double right = 4 * PI * mass * n; // a cell has the volume 1 / n^3
    if (x == 0) right -= outside(n, -1, y, z);
    if (x == n - 1) right -= outside(n, n, y, z);
    if (y == 0) right -= outside(n, x, -1, z);
    if (y == n - 1) right -= outside(n, x, n, z);
    if (z == 0) right -= outside(n, x, y, -1);
    if (z == n - 1) right -= outside(n, x, y, n);
    return right;
}

// How far points move beyond what is asked for.
inline double over_relaxation(int n) { return 2 / (1 + std::sin(PI / (n + 1))); }

// A point after it has moved towards, and beyond, the value that its neighbours and its mass ask for.
inline double relaxed(double at, double west, double east, double south, double north, double down, double up,
    double right, double factor)
{
    const double wanted = (((west + east) + (south + north)) + (down + up) - right) * (1.0 / 6);
    return at + factor * (wanted - at);
}

struct Slab {
    int n, half, first, planes;
    bool bottom, top; // at a wall of the box
    size_t plane;     // points of a plane

    Slab(int n, int slabs, int s)
        : n(n), half(n / 2), first(first_plane(n, slabs, s)), planes(first_plane(n, slabs, s + 1) - first),
          bottom(s == 0), top(s == slabs - 1), plane((size_t)n * n) {}

    // Where row y of the plane with this number within the slab starts in an array of points of one colour.
    size_t row(int z, int y) const { return ((size_t)z * n + y) * half; }
    // x of the first point of a colour (0 red, 1 black) in a row.
    int parity(int colour, int z, int y) const { return (colour + first + z + y) & 1; }
};

inline void copy_block(const double *from, size_t count, OutputDF &out)
{
    memcpy(out.create<double>(count), from, count * sizeof(double));
}

#endif
