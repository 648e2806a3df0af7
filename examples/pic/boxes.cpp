// The same particles and the same equations as in dust.cpp and poisson.cpp, in boxes: PARTS x PARTS x PARTS
// of them.
//
// A point has neighbours in up to 26 boxes, and a particle may move to any of them. Boxes talk to their six
// neighbours only: along x first, then along y, then along z, and each time pass on what came in before. So
// what is for a neighbour across an edge or a corner arrives after two or three passes.
#include "dust.hpp"

namespace {

// Box b: x counts fastest. It has size[axis] points along each axis, from first[axis] on.
struct Box {
    int n, parts, at[3], first[3], size[3];

    Box(int n, int parts, int b) : n(n), parts(parts), at{b % parts, b / parts % parts, b / (parts * parts)}
    {
        for (int axis = 0; axis < 3; axis++) {
            first[axis] = first_plane(n, parts, at[axis]);
            size[axis] = first_plane(n, parts, at[axis] + 1) - first[axis];
        }
    }
    // Whether the low (0) or high (1) end along an axis is at a wall.
    bool wall(int axis, int end) const { return at[axis] == (end ? parts - 1 : 0); }
    double outside_at(int x, int y, int z) const { return outside(n, first[0] + x, first[1] + y,
        first[2] + z); }
};

// The points of a box and some more around them, x fastest. Coordinates count from the first point of the
// box.
struct Grid {
    const Box &box;
    int halo;

    Grid(const Box &box, int halo) : box(box), halo(halo) {}
    size_t wide(int axis) const { return (size_t)(box.size[axis] + 2 * halo); }
    size_t points() const { return wide(0) * wide(1) * wide(2); }
    size_t layer_points(int axis) const { return points() / wide(axis); }
    size_t at(int x, int y, int z) const
    {
        return ((size_t)(z + halo) * wide(1) + (size_t)(y + halo)) * wide(0) + (size_t)(x + halo);
    }
    // Calls f for all points whose coordinate along an axis is from .. to - 1.
    template <class F> void layers(int axis, int from, int to, F f) const
    {
        int low[3], high[3];
        for (int d = 0; d < 3; d++) low[d] = -halo, high[d] = box.size[d] + halo;
        low[axis] = from, high[axis] = to;
        for (int z = low[2]; z < high[2]; z++)
            for (int y = low[1]; y < high[1]; y++)
                for (int x = low[0]; x < high[0]; x++) f(at(x, y, z), x, y, z);
    }
};

// Copies count layers along an axis, from the one with coordinate first on.
void cut(const Grid &g, const double *from, int axis, int first, int count, OutputDF &out)
{
    double *to = out.create<double>(g.layer_points(axis) * (size_t)count);
    g.layers(axis, first, first + count, [&](size_t i, int, int, int) { *to++ = from[i]; });
}

double *copied(const InputDF &from, size_t count, OutputDF &out)
{
    return (double *)memcpy(out.create<double>(count), from.getData<double>(), count * sizeof(double));
}

// The outermost layers of the points of a box, for its six neighbours.
void cut_faces(const Box &b, const double *from, OutputDF *const faces[6])
{
    const Grid own(b, 0);
    for (int d = 0; d < 6; d++) cut(own, from, d / 2, d % 2 ? b.size[d / 2] - 1 : 0, 1, *faces[d]);
}

// Adds the mass that the neighbours along an axis have for this box's first and last layer.
void add_mass(const Grid &g, double *mass, int axis, const InputDF &low, const InputDF &high)
{
    for (int end = 0; end < 2; end++) {
        if (g.box.wall(axis, end)) continue;
        const double *more = (end ? high : low).getData<double>();
        const int at = end ? g.box.size[axis] - 1 : 0;
        g.layers(axis, at, at + 1, [&](size_t i, int, int, int) { mass[i] += *more++; });
    }
}

// Fills what is around the box along an axis with the neighbours' potential, or that outside the walls.
void surround(const Grid &g, double *potential, int axis, const InputDF &low, const InputDF &high)
{
    for (int end = 0; end < 2; end++) {
        const double *from = (end ? high : low).getData<double>();
        const int at = end ? g.box.size[axis] : -g.halo;
        const bool wall = g.box.wall(axis, end);
        g.layers(axis, at, at + g.halo, [&](size_t i, int x, int y, int z) {
            potential[i] = wall ? g.box.outside_at(x, y, z) : *from++;
        });
    }
}

// Deals particles out along an axis: to this box, and to those below and above it.
void deal(const Box &b, int axis, const Particles &all, OutputDF &stay, OutputDF &low, OutputDF &high)
{
    Particles staying, down, up;
    staying.reserve(all.size());
    for (const Particle &p : all) {
        const int plane = plane_of(p.at[axis], b.n);
        (plane < b.first[axis] ? down : plane >= b.first[axis] + b.size[axis] ? up : staying).push_back(p);
    }
    store(staying, stay);
    store(down, low);
    store(up, high);
}

} // namespace

extern "C" {

void make_cloud(int n, int particles, int parts, int b, OutputDF &dust)
{
    if (n < 4 || n % 2 != 0 || parts < 1 || parts > n / 2 || particles < 1) {
        fprintf(stderr,
            "boxes: %d x %d x %d parts of a mesh of %d points with %d particles: the mesh must be even "
            "and 4 or more, parts 1 to %d, particles 1 or more\n", parts, parts, parts, n, particles,
            std::max(1, n / 2));
        exit(1);
    }
    const Box box(n, parts, b);
    Particles mine;
    each_particle(n, particles, box.first[2], box.first[2] + box.size[2], [&](const Particle &p) {
        for (int axis = 0; axis < 2; axis++) {
            const int plane = plane_of(p.at[axis], n);
            if (plane < box.first[axis] || plane >= box.first[axis] + box.size[axis]) return;
        }
        mine.push_back(p);
    });
    store(mine, dust);
}

void make_guess(int n, int parts, int b, OutputDF &potential, OutputDF &x0, OutputDF &x1, OutputDF &y0,
    OutputDF &y1,
    OutputDF &z0, OutputDF &z1)
{
    const Box box(n, parts, b);
    const Grid own(box, 0);
    double *to = potential.create<double>(own.points());
    own.layers(2, 0, box.size[2], [&](size_t i, int x, int y,
        int z) { to[i] = first_guess(box.outside_at(x, y, z)); });
    OutputDF *const faces[6] = {&x0, &x1, &y0, &y1, &z0, &z1};
    cut_faces(box, to, faces);
}

// Each particle gives its mass to the eight points around it. low and high are for the neighbours along x.
void spread(int n, int particles, int parts, int b, const InputDF &dust, OutputDF &mass, OutputDF &low,
    OutputDF &high)
{
    const Box box(n, parts, b);
    const Grid g(box, 1);
    size_t count;
    const Particle *p = particles_of(dust, count);
    double *to = mass.create<double>(g.points(), 0.0);
    for (size_t i = 0; i < count; i++)
        each_point(p[i], n, [&](int x, int y, int z, double w) {
            to[g.at(x - box.first[0], y - box.first[1], z - box.first[2])] += w / particles;
        });
    cut(g, to, 0, -1, 1, low);
    cut(g, to, 0, box.size[0], 1, high);
}

// Takes the neighbours' mass along an axis; next_low and next_high are for those along the next one.
void gather(int n, int parts, int b, int axis, const InputDF &mass, const InputDF &low, const InputDF &high,
    OutputDF &result, OutputDF &next_low, OutputDF &next_high)
{
    const Box box(n, parts, b);
    const Grid g(box, 1);
    double *to = copied(mass, g.points(), result);
    add_mass(g, to, axis, low, high);
    cut(g, to, axis + 1, -1, 1, next_low);
    cut(g, to, axis + 1, box.size[axis + 1], 1, next_high);
}

// The right side of Poisson's equation at all points of the box, as in poisson.cpp.
void right_side(int n, int parts, int b, const InputDF &mass, const InputDF &low, const InputDF &high,
    OutputDF &source)
{
    const Box box(n, parts, b);
    const Grid g(box, 1), own(box, 0);
    std::vector<double> all(mass.getData<double>(), mass.getData<double>() + g.points());
    add_mass(g, all.data(), 2, low, high);
    double *to = source.create<double>(own.points());
    own.layers(2, 0, box.size[2], [&](size_t i, int x, int y, int z) {
        to[i] = right_of(n, box.first[0] + x, box.first[1] + y, box.first[2] + z, all[g.at(x, y, z)]);
    });
}

// Relaxes the points of one colour, as in poisson.cpp. The faces are the neighbours' outermost points.
void relax_box(int n, int parts, int b, int colour, const InputDF &old, const InputDF &x0, const InputDF &x1,
    const InputDF &y0, const InputDF &y1, const InputDF &z0, const InputDF &z1, const InputDF &source,
        double before,
    OutputDF &result, OutputDF &to_x0, OutputDF &to_x1, OutputDF &to_y0, OutputDF &to_y1, OutputDF &to_z0,
    OutputDF &to_z1, OutputDF &change)
{
    const Box box(n, parts, b);
    const int sx = box.size[0], sy = box.size[1], sz = box.size[2];
    const size_t plane = (size_t)sx * (size_t)sy;
    const InputDF *const from[6] = {&x0, &x1, &y0, &y1, &z0, &z1};
    const std::vector<double> wall(plane + (size_t)sz * (size_t)std::max(sx, sy), 0.0); // part of the source
    const double *face[6], *right = source.getData<double>(), factor = over_relaxation(n);
    for (int d = 0; d < 6; d++) face[d] = box.wall(d / 2, d % 2) ? wall.data() : from[d]->getData<double>();
    double *to = copied(old, plane * (size_t)sz, result), most = before;
    for (int z = 0; z < sz; z++)
        for (int y = 0; y < sy; y++) {
            const size_t row = z * plane + (size_t)y * (size_t)sx, side = (size_t)z * (size_t)sy + (size_t)y;
            double *p = to + row;
            const double *south = y > 0 ? p - sx : face[2] + (size_t)z * (size_t)sx;
            const double *north = y < sy - 1 ? p + sx : face[3] + (size_t)z * (size_t)sx;
            const double *down = z > 0 ? p - plane : face[4] + (size_t)y * (size_t)sx;
            const double *up = z < sz - 1 ? p + plane : face[5] + (size_t)y * (size_t)sx;
            for (int x = (colour + box.first[0] + box.first[1] + y + box.first[2] + z) & 1; x < sx; x += 2) {
                const double west = x > 0 ? p[x - 1] : face[0][side],
                    east = x < sx - 1 ? p[x + 1] : face[1][side];
                const double next = relaxed(p[x], west, east, south[x], north[x], down[x], up[x],
                    right[row + x], factor);
                most = std::max(most, std::fabs(next - p[x]));
                p[x] = next;
            }
        }
    OutputDF *const faces[6] = {&to_x0, &to_x1, &to_y0, &to_y1, &to_z0, &to_z1};
    cut_faces(box, to, faces);
    change.setValue<double>(most);
}

// Passes the potential to the next step. wide has room for two points around it; low and high are for the
// neighbours along x.
void settle_box(int n, int parts, int b, const InputDF &potential, const InputDF &x0, const InputDF &x1,
    const InputDF &y0, const InputDF &y1, const InputDF &z0, const InputDF &z1, OutputDF &next,
        OutputDF &next_x0,
    OutputDF &next_x1, OutputDF &next_y0, OutputDF &next_y1, OutputDF &next_z0, OutputDF &next_z1,
        OutputDF &wide,
    OutputDF &low, OutputDF &high)
{
    const Box box(n, parts, b);
    const Grid g(box, 2), own(box, 0);
    next.copy(potential);
    next_x0.copy(x0), next_x1.copy(x1), next_y0.copy(y0), next_y1.copy(y1), next_z0.copy(z0),
        next_z1.copy(z1);
    const double *from = potential.getData<double>();
    double *to = wide.create<double>(g.points(), 0.0);
    own.layers(2, 0, box.size[2], [&](size_t i, int x, int y, int z) { to[g.at(x, y, z)] = from[i]; });
    cut(g, to, 0, 0, 2, low);
    cut(g, to, 0, box.size[0] - 2, 2, high);
}

// Takes the neighbours' potential along an axis; next_low and next_high are for those along the next one.
void extend(int n, int parts, int b, int axis, const InputDF &wide, const InputDF &low, const InputDF &high,
    OutputDF &result, OutputDF &next_low, OutputDF &next_high)
{
    const Box box(n, parts, b);
    const Grid g(box, 2);
    double *to = copied(wide, g.points(), result);
    surround(g, to, axis, low, high);
    cut(g, to, axis + 1, 0, 2, next_low);
    cut(g, to, axis + 1, box.size[axis + 1] - 2, 2, next_high);
}

// The acceleration (three numbers) and the potential at all points near particles of this box.
void slope(int n, int parts, int b, const InputDF &wide, const InputDF &low, const InputDF &high,
    OutputDF &pull)
{
    const Box box(n, parts, b);
    const Grid g(box, 2), near(box, 1);
    std::vector<double> all(wide.getData<double>(), wide.getData<double>() + g.points());
    surround(g, all.data(), 2, low, high);
    double *to = pull.create<double>(4 * near.points(), 0.0);
    const size_t step[3] = {1, g.wide(0), g.wide(0) * g.wide(1)};
    const double scale = -0.5 * n;
    near.layers(2, -1, box.size[2] + 1, [&](size_t i, int x, int y, int z) {
        const double *p = &all[g.at(x, y, z)];
        for (int axis = 0; axis < 3; axis++) to[4 * i + axis] = scale * (p[step[axis]] - *(p - step[axis]));
        to[4 * i + 3] = p[0];
    });
}

// Moves the particles, as in dust.cpp. low and high are for the neighbours along x.
void push_box(int n, int particles, int parts, int b, const InputDF &dust, const InputDF &pull,
    OutputDF &stay,
    OutputDF &low, OutputDF &high, OutputDF &sums)
{
    const Box box(n, parts, b);
    const Grid near(box, 1);
    size_t count;
    const Particle *from = particles_of(dust, count);
    const double *field = pull.getData<double>();
    double *sum = sums.create<double>(6, 0.0);
    Particles moved(from, from + count);
    for (Particle &p : moved) {
        double at[4] = {0, 0, 0, 0};
        each_point(p, n, [&](int x, int y, int z, double w) {
            const double *v = field + 4 * near.at(x - box.first[0], y - box.first[1], z - box.first[2]);
            for (int c = 0; c < 4; c++) at[c] += w * v[c];
        });
        move(p, at, particles, sum);
        for (int axis = 0; axis < 3; axis++) {
            const int i = box.at[axis], plane = plane_of(p.at[axis], n);
            if (plane >= (i > 0 ? first_plane(n, parts, i - 1) : 0) &&
                plane < (i < parts - 1 ? first_plane(n, parts, i + 2) : n))
                continue;
            fprintf(stderr, "boxes: a particle crossed a whole box in one step: use fewer parts than %d\n",
                parts);
            exit(1);
        }
    }
    deal(box, 0, moved, stay, low, high);
}

// Takes the particles that came along an axis; next_low and next_high are for the neighbours along the next
// one.
void sort_dust(int n, int parts, int b, int axis, const InputDF &stay, const InputDF &low,
    const InputDF &high,
    OutputDF &result, OutputDF &next_low, OutputDF &next_high)
{
    deal(Box(n, parts, b), axis + 1, joined(stay, low, high), result, next_low, next_high);
}

void report_boxes(int n, int particles, int parts, const InputDF &sums)
{
    const double *v = sums.getData<double>();
    printf("pic: %d particles, %d^3 points in %d x %d x %d boxes: mass %.9f, momentum %.9f %.9f %.9f\n",
        particles, n,
        parts, parts, parts, v[0], v[1], v[2], v[3]);
}

}
