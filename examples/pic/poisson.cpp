// Density and potential: from the mass at the points of the mesh to the pull on every point.
#include "mesh.hpp"

extern "C" {

void make_potential(int n, int slabs, int s, OutputDF &red, OutputDF &black, OutputDF &low, OutputDF &high)
{
    const Slab b(n, slabs, s);
    double *colours[2];
    colours[0] = red.create<double>(b.row(b.planes, 0));
    colours[1] = black.create<double>(b.row(b.planes, 0));
    for (int colour = 0; colour < 2; colour++)
        for (int z = 0; z < b.planes; z++)
            for (int y = 0; y < n; y++)
                for (int j = 0; j < b.half; j++)
                    colours[colour][b.row(z, y) + j] = first_guess(
                        outside(n, 2 * j + b.parity(colour, z, y), y, b.first + z));
    copy_block(colours[1], b.row(1, 0), low);
    copy_block(colours[1] + b.row(b.planes - 1, 0), b.row(1, 0), high);
}

void make_real(double value, OutputDF &out) { out.setValue<double>(value); }

// The right side of Poisson's equation by colour, red first. own is the mass from particles of this slab,
// below and above the mass from its neighbours'.
void density(int n, int slabs, int s, const InputDF &own, const InputDF &below, const InputDF &above,
    OutputDF &source)
{
    const Slab b(n, slabs, s);
    const double *mass = own.getData<double>(), *under = below.getData<double>(),
        *over = above.getData<double>();
    double *out = source.create<double>(b.planes * b.plane);
    for (int z = 0; z < b.planes; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                const size_t at = (size_t)y * n + x;
                double m = mass[z * b.plane + at];
                if (z == 0 && !b.bottom) m += under[at];
                if (z == b.planes - 1 && !b.top) m += over[at];
                const int up = b.first + z, colour = (x + y + up) & 1;
                out[colour * b.row(b.planes, 0) + b.row(z, y) + x / 2] = right_of(n, x, y, up, m);
            }
}

// Relaxes the points of one colour. before is the largest change of the iteration so far.
void relax(int n, int slabs, int s, int colour, const InputDF &old, const InputDF &other,
    const InputDF &below, const InputDF &above,
           const InputDF &source, double before, OutputDF &result, OutputDF &low, OutputDF &high,
               OutputDF &change)
{
    const Slab b(n, slabs, s);
    const double factor = over_relaxation(n);
    const double *from = old.getData<double>(), *near = other.getData<double>();
    const double *right = source.getData<double>() + colour * b.row(b.planes, 0);
    const double *under = below.getData<double>(), *over = above.getData<double>();
    double *to = result.create<double>(b.row(b.planes, 0));
    const std::vector<double> wall(b.half, 0.0); // what is outside the box is part of the source
    double most = before;
    for (int z = 0; z < b.planes; z++)
        for (int y = 0; y < n; y++) {
            const size_t row = b.row(z, y);
            const double *p = from + row, *q = near + row, *r = right + row;
            const double *south = y > 0 ? near + b.row(z, y - 1) : wall.data();
            const double *north = y < n - 1 ? near + b.row(z, y + 1) : wall.data();
            const double *down = z > 0 ? near + b.row(z - 1, y) : b.bottom ? wall.data() : under +
                b.row(0, y);
            const double *up = z < b.planes - 1 ? near + b.row(z + 1, y) : b.top ? wall.data() : over +
                b.row(0, y);
            const int parity = b.parity(colour, z, y);
            double *out = to + row;
            // The neighbours along x are the points j - 1 and j of the other colour if the row starts with
            // this one, otherwise j and j + 1.
            auto point = [&](int j, double west, double east) {
                out[j] = relaxed(p[j], west, east, south[j], north[j], down[j], up[j], r[j], factor);
            };
            if (parity == 0) {
                point(0, 0, q[0]);
                for (int j = 1; j < b.half; j++) point(j, q[j - 1], q[j]);
            } else {
                for (int j = 0; j < b.half - 1; j++) point(j, q[j], q[j + 1]);
                point(b.half - 1, q[b.half - 1], 0);
            }
            for (int j = 0; j < b.half; j++) most = std::max(most, std::fabs(out[j] - p[j]));
        }
    copy_block(to, b.row(1, 0), low);
    copy_block(to + b.row(b.planes - 1, 0), b.row(1, 0), high);
    change.setValue<double>(most);
}

void larger(double a, double b, OutputDF &out) { out.setValue<double>(std::max(a, b)); }

// Passes the potential to the next step, and its two outermost planes on each side to the neighbours.
void settle(int n, int slabs, int s, const InputDF &red, const InputDF &black, const InputDF &below,
    const InputDF &above,
            OutputDF &next_red, OutputDF &next_black, OutputDF &next_below, OutputDF &next_above,
                OutputDF &low, OutputDF &high)
{
    const Slab b(n, slabs, s);
    next_red.copy(red);
    next_black.copy(black);
    next_below.copy(below);
    next_above.copy(above);
    const size_t two = b.row(2, 0), rest = b.row(b.planes - 2, 0);
    for (int end = 0; end < 2; end++) { // red, then black
        double *out = (end == 0 ? low : high).create<double>(2 * two);
        memcpy(out, red.getData<double>() + end * rest, two * sizeof(double));
        memcpy(out + two, black.getData<double>() + end * rest, two * sizeof(double));
    }
}

// The acceleration (three numbers) and the potential at all points near particles of this slab: its planes
// and one more at each end, if there is one.
void field(int n, int slabs, int s, const InputDF &red, const InputDF &black, const InputDF &below,
    const InputDF &above, OutputDF &pull)
{
    const Slab b(n, slabs, s);
    // The potential from two planes below the slab to two above it, with a border all around.
    const size_t width = n + 2, plane = width * width;
    std::vector<double> potential(plane * (b.planes + 4));
    for (int z = -2; z < b.planes + 2; z++) {
        const int up = b.first + z;
        const double *colours[2] = {red.getData<double>(), black.getData<double>()};
        int at = z; // plane within what colours point to
        if (z < 0 || z >= b.planes) {
            const double *p = (z < 0 ? below : above).getData<double>();
            colours[0] = p;
            colours[1] = p + b.row(2, 0);
            at = z < 0 ? z + 2 : z - b.planes;
        }
        double *out = &potential[(z + 2) * plane];
        for (int y = -1; y <= n; y++)
            for (int x = -1; x <= n; x++, out++) {
                const bool inside = x >= 0 && x < n && y >= 0 && y < n && up >= 0 && up < n;
                *out = inside ? colours[(x + y + up) & 1][b.row(at, y) + x / 2] : outside(n, x, y, up);
            }
    }
    const int from = b.bottom ? 0 : -1, to = b.top ? b.planes - 1 : b.planes;
    double *out = pull.create<double>(4 * b.plane * (to - from + 1));
    const double scale = -0.5 * n;
    for (int z = from; z <= to; z++)
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++, out += 4) {
                const double *p = &potential[(z + 2) * plane + (y + 1) * width + x + 1];
                out[0] = scale * (p[1] - p[-1]);
                out[1] = scale * (p[width] - p[-(ptrdiff_t)width]);
                out[2] = scale * (p[plane] - p[-(ptrdiff_t)plane]);
                out[3] = p[0];
            }
}

}
