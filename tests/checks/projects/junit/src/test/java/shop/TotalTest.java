package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class TotalTest {
    @Test
    void adds() {
        assertEquals(3, Total.total(1, 2));
    }

    @Test
    void labelsNothing() {
        Total.label(null);
    }

    @Test
    @Disabled("not today")
    void later() {}

    @Nested
    class Inside {
        @Test
        void passes() {}
    }
}
