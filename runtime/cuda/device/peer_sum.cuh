// The kernel that adds up small vectors of several GPUs, or computes their maximum
// (runtime/cuda/peer_sums.h). A rank is a GPU. Every rank sends its whole vector to every other rank, in
// messages of 16 bytes. A message has two 4-byte words of data, each followed by the number of the call (1
// for the first call of the kernel, then 2, ...). One instruction stores a whole message, so a receiver
// that reads the number of its call knows that the data are complete. No other signal and no fence is
// needed.
// If a grid has n threads, thread t sends the messages t, t + n, t + 2 n, ... to all other ranks. It then
// receives the messages with these numbers from all other ranks, and computes their elements of the result.
//
// A slot is memory for one vector of messages. A rank has two slots for each rank that sends to it: one for
// even calls, and one for odd calls. A rank ends a call only after it has received messages from every
// rank. So the messages of call n have been read before call n + 2 overwrites them.
// The argument `type` of all functions is the element type: 0 for f32, 1 for bf16, 2 for f16.
// Requires: kTicketsAt, kStopAt, kPeersAt, kSlotsAt and kBytes, the layout of PeerSumBlock
// (runtime/cuda/peer_sum_kernel.h).


typedef long long i64;

// Returns element i of a vector as f32.
__device__ float read(const char* from, i64 i, i64 type) {
  if (type == 0) return ((const float*)from)[i];
  const unsigned short bits = ((const unsigned short*)from)[i];
  if (type == 1) return __uint_as_float((unsigned)bits << 16);
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

// Returns x rounded to 16 bits. Requires: type is 1 or 2.
__device__ unsigned short narrow(float x, i64 type) {
  unsigned short bits;
  if (type == 1) asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  else asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// Rounds x and stores it as element i of the vector `to`.
__device__ void write(char* to, i64 i, float x, i64 type) {
  if (type == 0) ((float*)to)[i] = x;
  else ((unsigned short*)to)[i] = narrow(x, type);
}

// Returns the data of one message: the elements from number `begin` on, two if they are f32, otherwise
// four. Elements that do not exist are 0. elements: the length of the vector.
__device__ uint2 packed(const char* from, i64 begin, i64 elements, i64 type) {
  unsigned words[2] = {0, 0};
  const int lanes = type == 0 ? 2 : 4;
  for (int j = 0; j < lanes && begin + j < elements; ++j) {
    if (type == 0) words[j] = ((const unsigned*)from)[begin + j];
    else words[j / 2] |= (unsigned)((const unsigned short*)from)[begin + j] << j % 2 * 16;
  }
  return make_uint2(words[0], words[1]);
}

// Writes message number `vector` to a slot in the memory of another rank. x: its data; call: the number of
// this call.
__device__ void send(char* slot, i64 vector, uint2 x, unsigned call) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(slot + vector * 16), "r"(x.x), "r"(call), "r"(x.y)
               : "memory");
}

// Waits for message number `vector` of call number `call` in a slot of this rank, and returns its data. If
// *stop becomes nonzero, because another rank has failed, the wait ends, and the data are undefined.
__device__ uint2 receive(const char* slot, i64 vector, unsigned call, const volatile unsigned* stop) {
  uint4 x;
  for (unsigned tries = 1;; ++tries) {
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(slot + vector * 16) : "memory");
    if (x.y == call && x.w == call) break;
    if (tries % 1024 == 0 && *stop != 0) break;
  }
  return make_uint2(x.x, x.z);
}

// Returns the larger number; NaN if one is NaN.
__device__ float larger(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

extern "C" __global__ void __launch_bounds__(256)
smelt_peer_sum(const char* from, char* to, char* block, i64 elements, i64 type, i64 sum, i64 rank, i64 ranks) {
  // runtime/cuda/peer_sum_kernel.h describes the arguments, and the layout of `block`.
  volatile unsigned* calls = (volatile unsigned*)block;
  const volatile unsigned* stop = (const volatile unsigned*)(block + kStopAt);
  char* const* peers = (char* const*)(block + kPeersAt);
  const unsigned call = *calls + 1;
  // slot: bytes of a slot. turn: offset in `block` of the slots of this call. lanes: elements per message.
  // first and step: this thread has the messages first, first + step, first + 2 * step, ...
  const i64 slot = 2 * (kBytes / ranks / 8 * 8), turn = kSlotsAt + (call & 1) * ranks * slot;
  const i64 lanes = type == 0 ? 2 : 4, step = (i64)gridDim.x * blockDim.x;
  const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  for (i64 v = first; v * lanes < elements; v += step) {
    const uint2 own = packed(from, v * lanes, elements, type);
    for (i64 i = 1; i < ranks; ++i) send(peers[(rank + i) % ranks] + turn + rank * slot, v, own, call);
  }
  for (i64 v = first; v * lanes < elements; v += step) {
    float total[4] = {0, 0, 0, 0};  // added in the order of ranks, so all ranks get the same bits
    const uint2 own = packed(from, v * lanes, elements, type);
    for (i64 other = 0; other < ranks; ++other) {
      const uint2 x = other == rank ? own : receive(block + turn + other * slot, v, call, stop);
      for (int j = 0; j < lanes; ++j) {
        const float term = read((const char*)&x, j, type);
        total[j] = other == 0 ? term : sum == 0 ? total[j] + term : larger(total[j], term);
      }
    }
    for (int j = 0; j < lanes && v * lanes + j < elements; ++j) write(to, v * lanes + j, total[j], type);
  }
  // The last block to come here completes the call. All threads of the grid have then read the number of
  // the call.
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned* tickets = (unsigned*)(block + kTicketsAt);
  __threadfence();
  if (atomicAdd(tickets, 1) + 1 != gridDim.x) return;
  *tickets = 0;
  *calls = call;
}
