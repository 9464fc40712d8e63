// The C interface: low-rank adapters of continuous batches.
#include <fmt/ranges.h>

#include "runtime/c_api/c_api_batch.h"
#include "runtime/engine/adapters/adapter_files.h"

namespace smelt::c_api {

AdapterStore& batch_adapters(smelt_batch& batch) {
  if (AdapterStore* const adapters = batch.batch.adapters()) return *adapters;
  fail("adapters: the plan has no slots for them; compile it with adapters=N");
}

std::shared_ptr<const ServedAdapter> find_batch_adapter(smelt_batch& batch, const char* name) {
  const AdapterStore& adapters = batch_adapters(batch);
  if (auto found = adapters.find(required(name, "an adapter's name"))) return found;
  fail("adapter: there is no '{}'; there are: {}", name, fmt::join(adapters.names(), ", "));
}

}  // namespace smelt::c_api

using namespace smelt;
using namespace smelt::c_api;

extern "C" {

smelt_status smelt_batch_load_adapter(smelt_batch* batch, const char* name, const char* directory) {
  return guarded([&] {
    required(batch, "the batch"), required(name, "an adapter's name"), required(directory, "the directory");
    AdapterStore& adapters = batch_adapters(*batch);
    const AdapterWeights weights = read_adapter_files(directory, adapters.interface());
    batch->batch.write_adapter(*adapters.add(name), weights);
  });
}

smelt_status smelt_batch_unload_adapter(smelt_batch* batch, const char* name) {
  return guarded([&] {
    (void)find_batch_adapter(*required(batch, "the batch"), name);
    batch_adapters(*batch).remove(name);
  });
}

smelt_status smelt_batch_list_adapters(smelt_batch* batch, const char* const** names, size_t* count) {
  return guarded([&] {
    required(batch, "the batch"), required(names, "names"), required(count, "count");
    const AdapterStore* const adapters = batch->batch.adapters();
    batch->adapter_names = adapters ? adapters->names() : std::vector<std::string>();
    batch->adapter_name_pointers.clear();
    for (const std::string& name : batch->adapter_names) batch->adapter_name_pointers.push_back(name.c_str());
    *names = batch->adapter_name_pointers.data(), *count = batch->adapter_names.size();
  });
}

}  // extern "C"
