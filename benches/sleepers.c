// Many processes that sleep, spread over control groups: sleepers COUNT [CGROUP.PROCS]...
//
// Prints a line when all of them sleep, and ends with all of them when its input ends.
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        return 2;
    }
    long count = atol(argv[1]), groups = argc - 2;
    for (long number = 0; number < count; number++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            return 3;
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(0);
            for (;;) {
                pause();
            }
        }
        if (groups == 0) {
            continue;
        }
        FILE *procs = fopen(argv[2 + number % groups], "w");
        if (!procs || fprintf(procs, "%d\n", (int)pid) < 0 || fclose(procs) != 0) {
            perror(argv[2 + number % groups]);
            return 3;
        }
    }
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    return 0;
}
