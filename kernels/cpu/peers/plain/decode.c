// Times decoding of a LLaMA-shaped model in plain C: float32, one sequence, random weights, always the likeliest token. It is what a short program
// with a compiler's own vectors and OpenMP reaches, beside `prenorm bench sample`:
//
//   gcc -Ofast -fopenmp -march=native -o /tmp/decode kernels/cpu/peers/plain/decode.c -lm
//   OMP_NUM_THREADS=2 /tmp/decode [15m|110m] [passes]
//
// Each pass writes a whole context of tokens from an empty cache; the median and the best are printed.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
	int width, layers, heads, hidden, vocab, context;
} Shape;

typedef struct {
	float *q, *k, *v, *o;         // [width,width] each
	float *gate, *up, *down;      // [hidden,width] twice, [width,hidden]
	float *attention_gain, *gain; // [width] each
	float *keys, *values;         // [context,width] each
} Layer;

static uint64_t state = 1;

static float *random_floats(size_t n, float scale) {
	float *x = malloc(n * sizeof *x);
	if (!x) {
		fprintf(stderr, "decode: no memory for %zu floats\n", n);
		exit(1);
	}
	for (size_t i = 0; i < n; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		x[i] = ((float)(state >> 40) / (1 << 24) - 0.5f) * scale;
	}
	return x;
}

// product is y[n] = w[n,k] x[k].
static void product(float *y, const float *w, const float *x, int n, int k) {
#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		float sum = 0;
		for (int j = 0; j < k; j++) sum += w[(size_t)i * k + j] * x[j];
		y[i] = sum;
	}
}

static void rmsnorm(float *y, const float *x, const float *gain, int n) {
	float sum = 0;
	for (int i = 0; i < n; i++) sum += x[i] * x[i];
	float factor = 1 / sqrtf(sum / n + 1e-5f);
	for (int i = 0; i < n; i++) y[i] = gain[i] * factor * x[i];
}

static void rope(float *x, int n, int dim, const float *cosines, const float *sines) {
	for (int at = 0; at < n; at += dim)
		for (int i = 0; i < dim / 2; i++) {
			float a = x[at + i], b = x[at + dim / 2 + i];
			x[at + i] = a * cosines[i] - b * sines[i];
			x[at + dim / 2 + i] = b * cosines[i] + a * sines[i];
		}
}

static void attention(float *y, const float *q, const Layer *l, float *scores, const Shape *s, int position) {
	int dim = s->width / s->heads;
	float scale = 1 / sqrtf(dim);
#pragma omp parallel for
	for (int h = 0; h < s->heads; h++) {
		float *p = scores + (size_t)h * s->context, top = -INFINITY, sum = 0;
		for (int t = 0; t <= position; t++) {
			const float *key = l->keys + (size_t)t * s->width + h * dim;
			float dot = 0;
			for (int i = 0; i < dim; i++) dot += q[h * dim + i] * key[i];
			p[t] = dot * scale;
			if (p[t] > top) top = p[t];
		}
		for (int t = 0; t <= position; t++) {
			p[t] = expf(p[t] - top);
			sum += p[t];
		}
		float *out = y + h * dim;
		memset(out, 0, dim * sizeof *out);
		for (int t = 0; t <= position; t++) {
			const float *value = l->values + (size_t)t * s->width + h * dim;
			float weight = p[t] / sum;
			for (int i = 0; i < dim; i++) out[i] += weight * value[i];
		}
	}
}

typedef struct {
	Shape s;
	Layer *layers;
	float *embedding, *final_gain; // the head is the embedding
	float *cosines, *sines;        // [context,dim/2] each
	float *x, *n, *q, *y, *a, *b, *scores, *logits;
} Model;

static Model make(Shape s) {
	Model m = {.s = s, .layers = calloc(s.layers, sizeof(Layer))};
	size_t w = s.width, h = s.hidden, dim = w / s.heads;
	float a = 1 / sqrtf(w), b = 1 / sqrtf(h);
	for (int i = 0; i < s.layers; i++)
		m.layers[i] = (Layer){random_floats(w * w, a), random_floats(w * w, a), random_floats(w * w, a), random_floats(w * w, a),
			random_floats(h * w, a), random_floats(h * w, a), random_floats(w * h, b), random_floats(w, 2), random_floats(w, 2),
			random_floats(s.context * w, 0), random_floats(s.context * w, 0)};
	m.embedding = random_floats(s.vocab * w, a), m.final_gain = random_floats(w, 2);
	m.cosines = random_floats(s.context * dim / 2, 0), m.sines = random_floats(s.context * dim / 2, 0);
	for (int t = 0; t < s.context; t++)
		for (size_t i = 0; i < dim / 2; i++) {
			double angle = t * pow(10000, -2.0 * i / dim);
			m.cosines[t * dim / 2 + i] = cos(angle), m.sines[t * dim / 2 + i] = sin(angle);
		}
	m.x = random_floats(w, 0), m.n = random_floats(w, 0), m.q = random_floats(w, 0), m.y = random_floats(w, 0);
	m.a = random_floats(h, 0), m.b = random_floats(h, 0), m.scores = random_floats((size_t)s.heads * s.context, 0), m.logits = random_floats(s.vocab, 0);
	return m;
}

// next is the likeliest token after one at a position.
static int next(Model *m, int token, int position) {
	Shape s = m->s;
	int w = s.width, dim = w / s.heads;
	memcpy(m->x, m->embedding + (size_t)token * w, w * sizeof *m->x);
	for (int i = 0; i < s.layers; i++) {
		Layer *l = &m->layers[i];
		float *key = l->keys + (size_t)position * w, *value = l->values + (size_t)position * w;
		const float *cosines = m->cosines + position * dim / 2, *sines = m->sines + position * dim / 2;
		rmsnorm(m->n, m->x, l->attention_gain, w);
		product(m->q, l->q, m->n, w, w);
		product(key, l->k, m->n, w, w);
		product(value, l->v, m->n, w, w);
		rope(m->q, w, dim, cosines, sines);
		rope(key, w, dim, cosines, sines);
		attention(m->y, m->q, l, m->scores, &s, position);
		product(m->n, l->o, m->y, w, w);
		for (int j = 0; j < w; j++) m->x[j] += m->n[j];
		rmsnorm(m->n, m->x, l->gain, w);
		product(m->a, l->gate, m->n, s.hidden, w);
		product(m->b, l->up, m->n, s.hidden, w);
		for (int j = 0; j < s.hidden; j++) m->a[j] = m->a[j] / (1 + expf(-m->a[j])) * m->b[j];
		product(m->n, l->down, m->a, w, s.hidden);
		for (int j = 0; j < w; j++) m->x[j] += m->n[j];
	}
	rmsnorm(m->x, m->x, m->final_gain, w);
	product(m->logits, m->embedding, m->x, s.vocab, w);
	int best = 0;
	for (int i = 1; i < s.vocab; i++)
		if (m->logits[i] > m->logits[best]) best = i;
	return best;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	const char *size = argc > 1 ? argv[1] : "15m";
	int passes = argc > 2 ? atoi(argv[2]) : 5;
	Shape s = {288, 6, 6, 768, 32000, 256};
	if (!strcmp(size, "110m")) s = (Shape){768, 12, 12, 2048, 32000, 1024};
	else if (strcmp(size, "15m") || passes < 1) {
		fprintf(stderr, "usage: decode [15m|110m] [passes, 1 or more]\n");
		return 2;
	}
	Model m = make(s);
	double *rates = calloc(passes, sizeof *rates);
	int token = 1;
	for (int i = -1; i < passes; i++) { // the first pass touches the memory and is not counted
		double began = now();
		for (int t = 0; t < s.context; t++) token = next(&m, token, t);
		if (i >= 0) rates[i] = s.context / (now() - began);
	}
	qsort(rates, passes, sizeof *rates, ascending);
	printf("%s: %.1f tokens/s, the best %.1f (last token %d)\n", size, rates[passes / 2], rates[passes - 1], token);
}
