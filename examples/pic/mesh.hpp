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
