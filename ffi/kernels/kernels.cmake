# Adds our CPU kernels to ggml. build.sh passes this file as CMAKE_PROJECT_ggml_INCLUDE: cmake reads it at project("ggml") and,
# once all targets of ggml exist, calls the function below. ggml's own CMake files stay as they are.

set(SVC_KERNELS_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(svc_add_kernels)
    get_property(targets DIRECTORY src PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
        if(target STREQUAL "ggml-base")
            target_include_directories(${target} PRIVATE "${SVC_KERNELS_DIR}")
        elseif(target MATCHES "^ggml-cpu" AND NOT target MATCHES "-feats$")
            file(GLOB sources CONFIGURE_DEPENDS "${SVC_KERNELS_DIR}/*.cpp")
            target_sources(${target} PRIVATE ${sources})
            target_include_directories(${target} PRIVATE "${SVC_KERNELS_DIR}")
        endif()
    endforeach()
endfunction()

cmake_language(DEFER CALL svc_add_kernels)
