# What an application needs: headers, the static library, a CMake package and a pkg-config file. `--component runtime`
# installs just that, without the compiler.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SMELT_PUBLIC_HEADERS
    smelt allocator dim dtype error executor philox session shared_weights tensor batch data/batches data/documents data/held_back data/pack_rows data/packed_data data/records data/token_data generation/generator generation/sampling stage_memory
    generation/beam_groups generation/beam_search generation/cached_logits generation/generation_options
    generation/beam_loop generation/cache_bounds generation/cache_pages generation/chosen_tokens generation/logits_processors generation/loop_inputs generation/model_row
    generation/next_logits generation/token_loop serving/cache_rows serving/continuous_batch serving/page_pool
    serving/prefix_index serving/request serving/running_sequence serving/steps serving/stop_strings plan/attention_spec plan/plan plan/step
    plan/plan_file ranks/communicator ranks/failure_flag ranks/launch_variables ranks/mesh ranks/mesh_ranks ranks/rank_groups ranks/rank_link ranks/ranks ranks/shared_memory
    ranks/socket system/file system/log system/stopwatch tokenizers/encoding tokenizers/tokenizer training/checkpoint training/learning_rate
    training/loss_curve training/metrics training/evaluation training/pipeline_schedule training/pipeline_stage training/pipeline_worker training/port_rings training/stage_messages training/trainer training/training_ranks weights/initialize weights/safetensors)

file(STRINGS ${PROJECT_SOURCE_DIR}/runtime/smelt.h version_line REGEX "define SMELT_VERSION")
if(NOT version_line MATCHES "\"${PROJECT_VERSION}\"")
  message(FATAL_ERROR "runtime/smelt.h says ${version_line}, CMakeLists.txt ${PROJECT_VERSION}")
endif()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smelt)
install(TARGETS smelt_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS smelt_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime)
# `--component compiler` adds the compiler as a library.
install(TARGETS smelt_compiler_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler
                                              NAMELINK_COMPONENT compiler)
install(FILES ${PROJECT_SOURCE_DIR}/compiler/c_api/smelt_compile.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/compiler/c_api COMPONENT compiler)
foreach(header IN LISTS SMELT_PUBLIC_HEADERS)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/runtime/${header}.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/runtime/${folder} COMPONENT runtime)
endforeach()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/smeltConfig.cmake.in ${PROJECT_BINARY_DIR}/smeltConfig.cmake
                              INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smeltConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/smeltConfig.cmake ${PROJECT_BINARY_DIR}/smeltConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT runtime)

# ${pcfiledir} keeps the tree movable.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
get_filename_component(OPENBLAS_DIRECTORY ${OPENBLAS_LIBRARY} DIRECTORY)
get_filename_component(TEXT_DIRECTORY ${PCRE2_LIBRARY} DIRECTORY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/smelt.pc.in ${PROJECT_BINARY_DIR}/smelt.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/libsmelt.pc.in ${PROJECT_BINARY_DIR}/libsmelt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smelt.pc ${PROJECT_BINARY_DIR}/libsmelt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
