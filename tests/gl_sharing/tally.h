// Counters in a file that another process reads while they change: 64-bit numbers in the machine's byte order.
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// Creates the file `name`.PID in the folder that the environment variable names, and maps its `count` numbers. Returns NULL if
// the variable is not set.
static inline int64_t *map_tally(const char *variable, const char *name, size_t count) {
    const char *folder = getenv(variable);
    if (!folder || !*folder) return NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", folder, name, (int)getpid());
    const size_t length = count * sizeof(int64_t);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *numbers = MAP_FAILED;
    if (file >= 0 && ftruncate(file, (off_t)length) == 0) {
        numbers = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (numbers == MAP_FAILED) {
        perror(path);
        abort();
    }
    close(file);
    return numbers;
}

static inline void add_to_tally(int64_t *numbers, int which, int64_t by) {
    __atomic_fetch_add(&numbers[which], by, __ATOMIC_RELAXED);
}
