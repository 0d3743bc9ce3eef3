// SPDX-License-Identifier: GPL-2.0-only
import java.io.PrintWriter;
import java.io.StringWriter;

import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs the test classes that are named, and prints TAP. */
public final class TapRunner extends RunListener {
    private int number;
    private boolean bad;
    private boolean failed;
    private String skipped;

    @Override
    public void testStarted(Description test) {
        failed = false;
        skipped = "";
    }

    @Override
    public void testFailure(Failure failure) {
        StringWriter trace = new StringWriter();
        failure.getException().printStackTrace(new PrintWriter(trace, true));
        System.out.print(trace.toString().replaceAll("(?m)^", "# ").replaceAll("# $", ""));
        failed = true;
        bad = true;
        if (failure.getDescription().getMethodName() == null)
            say(failure.getDescription());
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
        skipped = " # SKIP " + failure.getMessage();
    }

    @Override
    public void testFinished(Description test) {
        say(test);
    }

    private void say(Description test) {
        System.out.println((failed ? "not ok " : "ok ") + ++number + " " + test.getClassName() + "."
                + test.getMethodName() + skipped);
    }

    public static void main(String[] names) throws ClassNotFoundException {
        TapRunner tap = new TapRunner();
        JUnitCore core = new JUnitCore();
        Class<?>[] classes = new Class<?>[names.length];
        for (int i = 0; i < names.length; i++)
            classes[i] = Class.forName(names[i]);
        core.addListener(tap);
        System.out.println("TAP version 13");
        core.run(classes);
        System.out.println("1.." + tap.number);
        System.exit(tap.bad || tap.number == 0 ? 1 : 0);
    }
}
