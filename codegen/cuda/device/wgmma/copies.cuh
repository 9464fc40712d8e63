// Copies of boxes of a matrix by TMA, and synchronization in a cluster of thread blocks (sm_90a).
// Requires: types.cuh, and the macro SM (the qualifiers of a device function).


// Copies a TMA box of a matrix to the shared memory address `to`. x: index of the box's first element along
// the contiguous axis of the matrix. y: index of its first row. Elements outside of the matrix become zeros.
// One lane calls it. The mbarrier at the address `barrier` counts the bytes that have been copied.
SM void copy_box(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
// Returns the address, in the shared memory of block number `block` of the cluster, of what this block has
// at `address`.
SM unsigned address_in(unsigned block, unsigned address) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}
// Arrives at the mbarrier that is at the address `barrier` in block number `block` of the cluster.
SM void arrive_in(unsigned block, unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address_in(block, barrier)) : "memory");
}
// Waits for all threads of all blocks of the cluster, and makes their writes visible to one another.
SM void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
