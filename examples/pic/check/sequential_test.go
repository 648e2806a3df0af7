package check

import "math"

// sequential is the method without slabs, colours or exchanges: what the program must compute.
type sequential struct {
	n         int
	potential [][][]float64 // z, y, x, shifted by 1: the outermost points are beyond the walls
	at, speed [][3]float64
}

// state is a step before the particles move.
type state struct {
	iterations         int
	kinetic, potential float64
	mass               float64
	momentum           [3]float64
}

func cube(n int) [][][]float64 {
	c := make([][][]float64, n)
	for z := range c {
		c[z] = make([][]float64, n)
		for y := range c[z] {
			c[z][y] = make([]float64, n)
		}
	}
	return c
}

func newSequential(n, particles int) *sequential {
	s := &sequential{n: n, potential: cube(n + 2)}
	for z := range s.potential {
		for y := range s.potential {
			for x := range s.potential {
				d := func(i int) float64 { return (float64(i)-0.5)/float64(n) - 0.5 }
				s.potential[z][y][x] = -1 / math.Sqrt(d(x)*d(x)+d(y)*d(y)+d(z)*d(z))
				inside := func(i int) bool { return i > 0 && i <= n }
				if inside(x) && inside(y) && inside(z) {
					s.potential[z][y][x] = max(-4, s.potential[z][y][x])
				}
			}
		}
	}
	for i := range particles {
		h := 2 * math.Sin(math.Asin(2*(float64(i)+chance(i, 0))/float64(particles)-1)/3)
		r := 0.3 * math.Sqrt((1-h*h)*chance(i, 1))
		sin, cos := math.Sincos(2 * math.Pi * chance(i, 2))
		s.at = append(s.at, [3]float64{0.5 + r*cos, 0.48 + r*sin, 0.46 + 0.3*h})
		s.speed = append(s.speed, [3]float64{0.1 - 1.5*r*sin, 0.2 + 1.5*r*cos, 0.3})
	}
	return s
}

func chance(number, stream int) float64 {
	x := uint64(number)*3 + uint64(stream) + 0x9E3779B97F4A7C15
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
	x = (x ^ (x >> 27)) * 0x94D049BB133111EB
	return float64((x^(x>>31))>>11) / (1 << 53)
}

// near calls f with the eight points around a place and each one's share of a particle there.
func (s *sequential) near(at [3]float64, f func(z, y, x int, weight float64)) {
	var points [3][2]int
	var weights [3][2]float64
	for c, v := range at {
		g := v*float64(s.n) - 0.5
		low := math.Floor(g)
		points[c] = [2]int{max(0, int(low)), min(s.n-1, int(low)+1)}
		weights[c] = [2]float64{1 - (g - low), g - low}
	}
	for k := range 2 {
		for j := range 2 {
			for i := range 2 {
				f(points[2][k], points[1][j], points[0][i], weights[2][k]*weights[1][j]*weights[0][i])
			}
		}
	}
}

// solve finds the potential of a density by over-relaxation, red points before black ones.
func (s *sequential) solve(density [][][]float64, eps float64) (iterations int) {
	p := s.potential
	factor := 2 / (1 + math.Sin(math.Pi/float64(s.n+1)))
	width := 1 / float64(s.n)
	for change := eps; change >= eps; iterations++ {
		change = 0
		for colour := range 2 {
			for z := 1; z <= s.n; z++ {
				for y := 1; y <= s.n; y++ {
					for x := 1; x <= s.n; x++ {
						if (x+y+z+1)%2 != colour { // shifted by 1 three times
							continue
						}
						sum := p[z][y][x-1] + p[z][y][x+1] + p[z][y-1][x] + p[z][y+1][x] + p[z-1][y][x] + p[z+1][y][x]
						wanted := (sum - 4*math.Pi*density[z-1][y-1][x-1]*width*width) / 6
						move := factor * (wanted - p[z][y][x])
						p[z][y][x] += move
						change = max(change, math.Abs(move))
					}
				}
			}
		}
	}
	return iterations
}

// step advances everything by one step.
func (s *sequential) step(eps float64) (st state) {
	const dt = 0.002
	n, mass := float64(s.n), 1/float64(len(s.at))
	density := cube(s.n)
	for _, at := range s.at {
		s.near(at, func(z, y, x int, weight float64) { density[z][y][x] += weight * mass * n * n * n })
	}
	st.iterations = s.solve(density, eps)
	for i := range s.at {
		at, speed := &s.at[i], &s.speed[i]
		var pull [3]float64
		s.near(*at, func(z, y, x int, weight float64) {
			p := s.potential
			z, y, x = z+1, y+1, x+1
			pull[0] -= weight * (p[z][y][x+1] - p[z][y][x-1]) * n / 2
			pull[1] -= weight * (p[z][y+1][x] - p[z][y-1][x]) * n / 2
			pull[2] -= weight * (p[z+1][y][x] - p[z-1][y][x]) * n / 2
			st.potential += weight * p[z][y][x] * mass / 2
		})
		st.mass += mass
		for c := range 3 {
			mean := speed[c] + pull[c]*dt/2
			speed[c] += pull[c] * dt
			st.momentum[c] += mass * mean
			st.kinetic += mass * mean * mean / 2
			at[c] += speed[c] * dt
			if at[c] < 0 {
				at[c], speed[c] = -at[c], -speed[c]
			}
			if at[c] >= 1 {
				at[c], speed[c] = 2-at[c], -speed[c]
			}
		}
	}
	return st
}
