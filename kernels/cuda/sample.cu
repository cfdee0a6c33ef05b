// The choice of the next id by the logits of a row, as kernels.SampleTokens defines it: a block a row, without sorting.
//
// What a filter keeps of the ranking ends at one logit, and inside the ids that have this very logit at one id. Both are found bit by bit, by
// counts (top-k) or sums of weights (top-p) over the row. Every sum is of float64 in a fixed order: of a lane over its elements, of the lanes of
// a warp, of the warps.
#include "philox.cuh"

constexpr int sample_threads = 512, sample_warps = sample_threads / 32;

struct Plus {
	template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
struct Larger {
	template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a > b ? a : b; }
};

// order is a logit as an integer that compares as it does, zeros of both signs alike.
__device__ __forceinline__ u32 order(float z) {
	const u32 bits = __float_as_uint(z + 0.f);
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float logit(u32 order) { return __uint_as_float(order & 0x80000000u ? order & 0x7fffffffu : ~order); }

// End is the last element of the ranking that is kept: a logit and, of the ids that have it, the last.
struct End {
	u32 order;
	int id;
	__device__ __forceinline__ bool keeps(u32 o, int i) const { return o > order || (o == order && i <= id); }
};

// Row is a row of logits. Each warp has a range of ids, of which lane l has every 32nd from l on, in every pass.
struct Row {
	const float *logits;
	double *weights; // of the ids that top-k keeps
	int begin, end, lane, warp, turn;

	__device__ __forceinline__ Row(const float *logits, double *weights, int vocab)
	    : logits(logits), weights(weights), lane(threadIdx.x % 32), warp(threadIdx.x / 32), turn(0) {
		const int range = ceil_div(vocab, sample_threads) * 32;
		begin = min(vocab, warp * range), end = min(vocab, begin + range);
	}

	// reduce gives every thread f of a value over the block, in a fixed order. Turns alternate between two places in shared memory, so that the
	// one barrier guards what the turn before left.
	template <class T, class F> __device__ __forceinline__ T reduce(T v, F f) {
		__shared__ T part[2][sample_warps];
#pragma unroll
		for (int o = 16; o > 0; o >>= 1) v = f(v, __shfl_xor_sync(FULL, v, o));
		turn ^= 1;
		if (lane == 0) part[turn][warp] = v;
		__syncthreads();
		v = part[turn][lane % sample_warps];
#pragma unroll
		for (int o = sample_warps / 2; o > 0; o >>= 1) v = f(v, __shfl_xor_sync(FULL, v, o));
		return v;
	}

	// total is the sum over the row of f(id, order of its logit).
	template <class T, class F> __device__ __forceinline__ T total(F f) {
		T sum = 0;
#pragma unroll 8
		for (int i = begin + lane; i < end; i += 32) sum += f(i, order(logits[i]));
		return reduce(sum, Plus());
	}

	// last is the largest integer of some bits for which f, which falls, holds; it holds for 0.
	template <class F> __device__ __forceinline__ u32 last(int bits, F f) {
		u32 found = 0;
		for (int bit = bits - 1; bit >= 0; bit--)
			if (f(found | 1u << bit)) found |= 1u << bit;
		return found;
	}

	// nth is the id of the n-th of the elements, counted from 1, that have a logit and are kept by an end.
	__device__ __forceinline__ int nth(u32 o, const End &kept, int n, int vocab) {
		return (int)last(32 - __clz(vocab), [&](u32 id) { // as many before this id: fewer than n
			return total<int>([&](int i, u32 x) { return x == o && kept.keeps(x, i) && (u32)i < id; }) < n;
		});
	}

	// top_k is the end of the first k.
	__device__ __forceinline__ End top_k(int k, int vocab) {
		const u32 o = last(32, [&](u32 o) { return total<int>([&](int, u32 x) { return x >= o; }) >= k; });
		const int above = total<int>([&](int, u32 x) { return x > o; });
		return End{o, nth(o, End{0, vocab}, k - above, vocab)};
	}

	// top_p is the end of the fewest of those that an end keeps whose weights sum to p of all of theirs. alike is the weight of a logit.
	template <class W> __device__ __forceinline__ End top_p(const End &kept, double p, int vocab, W alike) {
		const auto above = [&](auto f) { return total<double>([&](int i, u32 x) { return f(x) && kept.keeps(x, i) ? weights[i] : 0.; }); };
		const double target = p * above([](u32) { return true; });
		const u32 o = last(32, [&](u32 o) { return above([&](u32 x) { return x >= o; }) >= target; });
		const int there = total<int>([&](int i, u32 x) { return x == o && kept.keeps(x, i); });
		const double w = alike(logit(o));
		double sum = above([&](u32 x) { return x > o; });
		int n = 0;
		do sum += w;
		while (++n < there && sum < target);
		return n >= there ? End{o, o == kept.order ? kept.id : vocab} : End{o, nth(o, kept, n, vocab)};
	}
};

// draw is the first id up to which weights sum to more than u times their total; weight(i) is that of an id.
template <class W> __device__ __forceinline__ void draw(int *id, const Row &r, double u, W weight) {
	__shared__ double part[sample_warps];
	double sum = 0.;
	for (int i = r.begin + r.lane; i < r.end; i += 32) sum += weight(i);
	sum = warp_sum(sum);
	if (r.lane == 0) part[r.warp] = sum;
	__syncthreads();
	double total = 0., before = 0.;
	for (int w = 0; w < sample_warps; w++) total += part[w];
	int drawn = 0;
	double base = 0.;
	for (int w = 0; w < sample_warps; w++) { // the range in which the sum is passed, or the last that has any weight
		if (part[w] > 0.) drawn = w, base = before;
		before += part[w];
		if (before > u * total) break;
	}
	if (r.warp != drawn) return;
	int last = r.begin; // this lane's last id that has any weight
#pragma unroll 1
	for (int i = r.begin; i < r.end; i += 32) {
		const int mine = i + r.lane;
		const double w = mine < r.end ? weight(mine) : 0.;
		double up_to = w;
#pragma unroll
		for (int o = 1; o < 32; o <<= 1) {
			const double less = __shfl_up_sync(FULL, up_to, o);
			if (r.lane >= o) up_to += less;
		}
		if (w > 0.) last = mine;
		const bool past = w > 0. && base + up_to > u * total;
		const u32 all = __ballot_sync(FULL, past);
		if (all) {
			if (past && !(all & ((1u << r.lane) - 1))) *id = mine;
			return;
		}
		base += __shfl_sync(FULL, up_to, 31);
	}
#pragma unroll
	for (int o = 16; o > 0; o >>= 1) last = max(last, __shfl_xor_sync(FULL, last, o));
	if (r.lane == 0) *id = last;
}

// uniform is the random number in [0, 1) of a place {sequence, position}; the host has it as kernels.SampleUniform.
__device__ __forceinline__ double uniform(const int *place, u64 seed) {
	const int sequence = place[0], position = place[1];
	const uint4 counter = make_uint4(position, position >> 31, sequence, sequence >> 31);
	const uint4 r = philox(counter, make_uint2((u32)seed, (u32)(seed >> 32) ^ 0x73616d70u));
	return (double)(((u64)r.x << 32 | r.y) >> 11) * 0x1p-53;
}

// ids[b] = the id that follows in row b. top_k is 0 where it keeps all, top_p where it keeps all; floor is the logarithm of min_p times the
// temperature, or minus infinity.
extern "C" __global__ void __launch_bounds__(sample_threads, 1) sample_tokens(int *__restrict__ ids, const float *__restrict__ logits, const int *__restrict__ places,
                                                                           double *weights, u64 *bad, int vocab, double temperature, int top_k, double top_p,
                                                                           double floor, u64 seed) {
	const int b = blockIdx.x;
	logits += (ll)b * vocab, weights += (ll)b * vocab, ids += b;
	Row r(logits, weights, vocab);
	u64 first = 0; // the largest logit and, of equal ones, the lowest id
	bool finite = true;
	for (int i = r.begin + r.lane; i < r.end; i += 32) {
		const float z = logits[i];
		if (z - z != 0.f) {
			report(bad, b, i);
			finite = false;
		}
		first = Larger()(first, (u64)order(z) << 32 | (u32)~i);
	}
	first = r.reduce(first, Larger());
	finite = r.reduce((int)!finite, Plus()) == 0;
	if (!finite || temperature == 0.) {
		if (threadIdx.x == 0) *ids = finite ? (int)~(u32)first : 0;
		return;
	}
	const double best = (double)logit((u32)(first >> 32));
	const auto weight = [&](float z) { return exp(((double)z - best) / temperature); };
	End kept{0, vocab};
	if (top_k > 0 && top_k < vocab) kept = r.top_k(top_k, vocab);
#pragma unroll 1
	for (int i = r.begin + r.lane; i < r.end; i += 32) weights[i] = kept.keeps(order(logits[i]), i) ? weight(logits[i]) : 0.;
	if (top_p > 0.) kept = r.top_p(kept, top_p, vocab, weight);
	const double least = best + floor;
	draw(ids, r, uniform(places + 2 * b, seed), [&](int i) { return kept.keeps(order(logits[i]), i) && (double)logits[i] >= least ? weights[i] : 0.; });
}
