import { Avatar, Button, Menu, Text, VisuallyHidden, useMantineColorScheme } from '@mantine/core';
import { session } from '../api/session.ts';
import { Check, LogOut, Monitor, Moon, Sun } from '../components/icons.ts';
import { useProfile } from './project.ts';

const SCHEMES = [
  { value: 'light', label: 'Light', icon: Sun },
  { value: 'dark', label: 'Dark', icon: Moon },
  { value: 'auto', label: 'As the system', icon: Monitor },
] as const;

/** Who is signed in; light or dark; the way out. */
export function UserMenu() {
  const { name, email } = useProfile();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu width={232} position="top-start" shadow="md">
      <Menu.Target>
        <Button
          variant="default"
          fullWidth
          h={48}
          px="xs"
          mt="sm"
          justify="flex-start"
          leftSection={<Avatar size={28} name={name} color="initials" alt="" aria-hidden />}
        >
          <span style={{ display: 'block', minWidth: 0, textAlign: 'start' }}>
            <Text span display="block" size="sm" fw={600} truncate>
              <VisuallyHidden>Account of </VisuallyHidden>
              {name}
            </Text>
            <Text span display="block" size="xs" c="dimmed" truncate>
              {email}
            </Text>
          </span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Appearance</Menu.Label>
        {SCHEMES.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={15} aria-hidden />}
            rightSection={colorScheme === value && <Check size={15} aria-label="chosen" />}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={15} aria-hidden />} onClick={() => void session.signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
