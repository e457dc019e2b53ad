import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { readSetting, saveSetting } from '../local-settings.ts';

/** What the person chose; `system` follows the machine. */
export type Theme = 'light' | 'dark' | 'system';

interface ThemeChoice {
  theme: Theme;
  /** The theme after this one. */
  nextTheme: Theme;
  /** Changes to the next theme. */
  switchTheme(): void;
}

const themeAfter: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const ThemeContext = createContext<ThemeChoice>({
  theme: 'system',
  nextTheme: 'light',
  switchTheme: () => {},
});

/** Sets the theme on the document, before the first paint of whatever is inside. */
export function ThemeProvider({ children }: { children: ReactNode }) {
  const [theme, setTheme] = useState<Theme>(() =>
    readSetting('theme', ['light', 'dark', 'system'] as const, 'system'),
  );
  useEffect(() => {
    saveSetting('theme', theme);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const apply = () => {
      const isDark = theme === 'dark' || (theme === 'system' && dark.matches);
      document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    };
    apply();
    dark.addEventListener('change', apply);
    return () => dark.removeEventListener('change', apply);
  }, [theme]);
  const nextTheme = themeAfter[theme];
  const switchTheme = () => setTheme(nextTheme);
  return <ThemeContext value={{ theme, nextTheme, switchTheme }}>{children}</ThemeContext>;
}

/** The theme and how to change it. */
export function useTheme(): ThemeChoice {
  return useContext(ThemeContext);
}
